"""The mutations of settings: a value that is not what the user wrote, and one that is accepted or shown where it must not be.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_SETTINGS = "worker/settings/settings.py"
_TESTS = "tests/worker/settings"

SETTINGS_MUTATIONS = (
    Mutation(
        "without a setting, other machines reach the API",
        "worker/settings/service_tables.py",
        'host: str = Field(default="127.0.0.1", min_length=1)',
        'host: str = Field(default="0.0.0.0", min_length=1)',
        (f"{_TESTS}/test_settings.py::test_without_anything_only_this_machine_reaches_the_api",),
    ),
    Mutation(
        "the environment does not override the file",
        _SETTINGS,
        "_merged(document, _read_environment(), levels=3)",
        "_merged(_read_environment(), document, levels=3)",
        (f"{_TESTS}/test_settings.py::test_flags_stand_over_the_environment_and_the_environment_over_the_file",),
    ),
    Mutation(
        "an empty file for a token switches the protection off",
        _SETTINGS,
        '    if not secret:\n        raise SettingsError(f"environment variable {variable}: {file} is empty")\n',
        "",
        (f"{_TESTS}/test_settings.py::test_a_secret_s_file_that_cannot_be_used_is_named_and_its_content_is_not",),
    ),
    Mutation(
        "a producer may be told not to wait for the broker",
        "worker/settings/tables.py",
        "KafkaSourceSettings.protected_properties | _PRODUCER_PROTECTED",
        "KafkaSourceSettings.protected_properties",
        (f"{_TESTS}/test_settings.py::test_client_properties_that_would_break_the_promise_are_refused",),
    ),
    Mutation(
        "a password with a slash is printed where it stands in an address",
        "worker/settings/secrets.py",
        'quote(secret, safe=""),',
        "quote(secret),",
        (f"{_TESTS}/test_secrets.py::test_it_is_found_as_addresses_and_json_write_it",),
    ),
    Mutation(
        "topics that a table excludes get its settings",
        "worker/settings/topic_tables.py",
        "TopicPattern(include=self.pattern, exclude=self.exclude)",
        "TopicPattern(include=self.pattern)",
        (f"{_TESTS}/test_settings.py::test_the_first_table_that_fits_a_topic_holds_for_it",),
    ),
    Mutation(
        "the field that is named for the level is read as the service",
        "worker/settings/topic_tables.py",
        "                level=fields.level,\n                service=fields.service,\n",
        "                level=fields.service,\n                service=fields.level,\n",
        (f"{_TESTS}/test_settings.py::test_each_setting_of_a_topic_reaches_its_rule_of_decoding",),
    ),
    Mutation(
        "a rule without any condition drops every line",
        "worker/settings/rule_tables.py",
        "if self.service == () and self.level == () and",
        "if self.service is self.level is None and",
        (f"{_TESTS}/test_settings.py::test_a_wrong_file_is_refused_in_one_line_that_names_the_setting",),
    ),
    Mutation(
        "blocks of a topic with masks of its own bear the version of the general ones",
        "worker/settings/masks_version.py",
        "masks_version(settings.mask if own is None else own)",
        "masks_version(settings.mask or own)",
        (f"{_TESTS}/test_settings.py::test_a_topic_with_masks_of_its_own_has_their_version",),
    ),
)

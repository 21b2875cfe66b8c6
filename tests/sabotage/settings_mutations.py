"""The mutations of settings: a value that is not what the user wrote, and one that is accepted or shown where it must not be.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

SETTINGS_MUTATIONS: Changes = {
    "worker/settings/service_tables.py: without a setting, other machines reach the API": (
        'host: str = Field(default="127.0.0.1", min_length=1)',
        'host: str = Field(default="0.0.0.0", min_length=1)',
        "worker/settings/test_settings.py::without_anything_only_this_machine_reaches_the_api",
    ),
    "worker/settings/settings.py: the environment does not override the file": (
        "_merged(document, _read_environment(), levels=3)",
        "_merged(_read_environment(), document, levels=3)",
        "worker/settings/test_settings.py::flags_stand_over_the_environment_and_the_environment_over_the_file",
    ),
    "worker/settings/settings.py: an empty file for a token switches the protection off": (
        '    if not secret:\n        raise SettingsError(f"environment variable {variable}: {file} is empty")\n',
        "",
        "worker/settings/test_settings.py::a_secret_s_file_that_cannot_be_used_is_named_and_its_content_is_not",
    ),
    "worker/settings/tables.py: a producer may be told not to wait for the broker": (
        "KafkaSourceSettings.protected_properties | _PRODUCER_PROTECTED",
        "KafkaSourceSettings.protected_properties",
        "worker/settings/test_settings.py::client_properties_that_would_break_the_promise_are_refused",
    ),
    "worker/settings/secrets.py: a password with a slash is printed where it stands in an address": (
        'quote(secret, safe=""),',
        "quote(secret),",
        "worker/settings/test_secrets.py::it_is_found_as_addresses_and_json_write_it",
    ),
    "worker/settings/topic_tables.py: topics that a table excludes get its settings": (
        "TopicPattern(include=self.pattern, exclude=self.exclude)",
        "TopicPattern(include=self.pattern)",
        "worker/settings/test_settings.py::the_first_table_that_fits_a_topic_holds_for_it",
    ),
    "worker/settings/topic_tables.py: the field that is named for the level is read as the service": (
        "                level=fields.level,\n                service=fields.service,\n",
        "                level=fields.service,\n                service=fields.level,\n",
        "worker/settings/test_settings.py::each_setting_of_a_topic_reaches_its_rule_of_decoding",
    ),
    "worker/settings/rule_tables.py: a rule without any condition drops every line": (
        "if self.service == () and self.level == () and",
        "if self.service is self.level is None and",
        "worker/settings/test_settings.py::a_wrong_file_is_refused_in_one_line_that_names_the_setting",
    ),
    "worker/settings/masks_version.py: blocks of a topic with masks of its own bear the version of the general ones": (
        "masks_version(settings.mask if own is None else own)",
        "masks_version(settings.mask or own)",
        "worker/settings/test_settings.py::a_topic_with_masks_of_its_own_has_their_version",
    ),
}

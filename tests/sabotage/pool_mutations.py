"""Mutations of the pool of models, and of the caches that they share."""

from tests.sabotage.mutation import Changes

_MACHINE = "properties/test_model_pool.py"
_THREADS = "worker/embedding/pool/test_model_pool.py"

POOL_MUTATIONS: Changes = {
    "worker/embedding/pool/pool_states.py: a model is closed under those who use it": (
        'if model.state == "draining" and not model.leases:',
        'if model.state == "draining":',
        _MACHINE,
    ),
    "worker/embedding/pool/pool_states.py: one model more than the budget allows is loaded": (
        "self.held_bytes + (first.size_bytes or 0) <= self._budget_bytes:",
        "self.held_bytes <= self._budget_bytes:",
        _MACHINE,
    ),
    "worker/embedding/pool/pool_states.py: a load that failed is tried again by each request": (
        'if model.state == "failed" and now_s < model.retry_s:',
        'if model.state == "failed" and now_s < 0:',
        _MACHINE,
    ),
    "worker/embedding/pool/pool_states.py: a pinned model goes when another one needs room": (
        'if model.state == "ready" and not model.table.pin]',
        'if model.state == "ready"]',
        _MACHINE,
    ),
    "worker/embedding/pool/pool_states.py: models that take turns are loaded and closed all the time": (
        "if now_s >= model.ready_s + MIN_STAY_S]",
        "if now_s >= model.ready_s]",
        _MACHINE,
    ),
    "worker/embedding/pool/pool_states.py: a model that is always in use keeps others out for ever": (
        "now_s >= first.waiting[0][0] + self._load_wait_s / 2:",
        "now_s >= first.waiting[0][0] + self._load_wait_s * 2:",
        f"{_THREADS}::a_model_in_use_all_the_time_makes_room_after_half_of_the_patience",
    ),
    "worker/embedding/pool/pool_states.py: whoever waits for a load that fails waits on": (
        "        return self._refuse_all(model, PoolRefused(name, error, FAILED_WAIT_S))\n",
        "        return []\n",
        _MACHINE,
    ),
    "worker/embedding/pool/victims.py: models go although another one does not fit without them either": (
        "    if sum(one.size_bytes for one in oldest_first) < needed_bytes:\n        return []\n",
        "",
        "properties/test_model_pool.py::victims_suffice_and_none_goes_in_vain",
    ),
    "worker/embedding/pool/lease.py: a lease that is given back twice counts twice": (
        "            if self._is_released:\n                return\n",
        "",
        f"{_THREADS}::a_lease_given_back_twice_counts_once_and_makes_room_only_then",
    ),
    "worker/embedding/pool/model_pool.py: a model with wrong vectors is loaded again each half minute": (
        "if error and self._source.version(table) == version:",
        "if error and self._source.version(table) != version:",
        f"{_THREADS}::a_model_with_wrong_vectors_is_loaded_again_only_once_its_files_have_changed",
    ),
    "worker/embedding/pool/served_models.py: an engine that nobody takes over stays in memory": (
        "            undo.callback(loaded.engine.close)\n",
        "",
        "worker/embedding/pool/test_served_models.py::an_engine_that_nobody_takes_over_is_closed",
    ),
    "worker/embedding/pool/model_bytes.py: what other threads allocate during a load counts for the model": (
        "if believed < rises.get(key, believed + 1):",
        "if believed > rises.get(key, 0):",
        "worker/embedding/pool/test_served_models.py::the_least_rise_counts_and_one_far_from_the_estimate_is_not_believed",
    ),
    "worker/cli/model_list.py: a model to serve is added under a name that another one has": (
        "    if served.name in taken:\n",
        "    if served.name == taken:\n",
        "worker/cli/test_model_list.py::a_name_that_is_taken_or_none_and_a_folder_that_is_none_are_refused",
    ),
    "worker/cli/model_list.py: models that are only listed are prepared": (
        "prepared = known_served(settings, table)",
        "prepared = prepare_model(folder, settings.model.cache.expanduser())",
        "worker/cli/test_model_list.py::models_are_listed_without_being_prepared",
    ),
    "worker/cli/model_check.py: models to serve are not checked": (
        "for table in settings.serve.model]",
        "for table in settings.serve.model[:0]]",
        "worker/cli/test_model_list.py::models_to_serve_are_checked_too_and_a_broken_one_is_named",
    ),
    "worker/embedding/cache/memory.py: a long vector takes no more room than a short one": (
        "units = -(-(vector.nbytes + ENTRY_BYTES) // self._unit_bytes)",
        "units = 1",
        "properties/test_memory_cache.py::what_it_returns_was_put_last_under_the_key_and_all_of_it_fits",
    ),
    "worker/embedding/cache/redis_space.py: models find each other's vectors in Redis": (
        'f"vectail:{space.id}:".encode("ascii")',
        'b"vectail:"',
        "worker/embedding/cache/test_redis_cache.py::another_space_sees_nothing_even_under_its_own_key",
        "worker/embedding/cache/test_redis_cache.py::models_of_several_dimensions_share_one_connection_and_never_a_vector",
    ),
    "worker/embedding/cache/redis_cache.py: each model finds out for itself that the server is away": (
        "        if admission is None:\n            self.tally.add(misses=len(keys), skipped=len(keys))\n            return None\n",
        "        admission = 0 if admission is None else admission\n",
        "worker/embedding/cache/test_redis_cache.py::a_server_that_is_away_is_away_for_all_spaces_at_once",
    ),
}

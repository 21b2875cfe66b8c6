"""`vectail_build_info` says what runs, the masks too."""

from tests.worker.running import World
from worker.observability import metrics
from worker.observability.samples import samples
from worker.runtime.process import DRAINED, vectail_version
from worker.settings.masks_version import masks_version
from worker.settings.tables import MaskTable


def test_the_labels_name_the_version_and_the_masks_of_the_settings(world: World) -> None:
    masks = MaskTable(disabled=("email",))
    running = world.start(world.settings(mask=masks)).opened()
    (build,) = (sample for sample in samples(running.service, 0.0) if sample.metric is metrics.BUILD_INFO)
    assert running.stop() == DRAINED
    labels = dict(zip(metrics.BUILD_INFO.labels, build.labels, strict=True))
    assert (labels["version"], labels["masks"]) == (vectail_version(), masks_version(masks))
    assert masks_version(masks) != masks_version()

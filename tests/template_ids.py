"""Ids of templates for tests, which write texts as plain literals."""

from sinks.row import TemplateId, TemplateText, template_id


def id_of(text: str) -> TemplateId:
    """Return the id of the template with this text."""
    return template_id(TemplateText(text))

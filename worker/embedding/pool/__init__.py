"""The pool of models that the embedding service answers with: loaded when they are asked for, unloaded when their memory is needed."""

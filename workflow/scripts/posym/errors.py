"""The one exception a user is meant to read."""


class InputError(Exception):
    """Bad input or a broken file, said in one sentence: what is wrong, where, and what to write instead.

    `posym.job` prints it without a traceback; anything else that is raised is a bug and keeps its traceback.
    """

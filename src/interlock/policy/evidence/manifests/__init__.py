"""What do manifests ask for? A reader for each kind: text in, names such as `npm:react` out.

Where a whole file can be parsed it is; a fragment, such as the replaced part of a file, and the
formats without a parser at hand are read line by line. No reader raises, and all take linear time.
"""

"""The command line: the same verbs as the Mind."""

import gc

# By default Python looks for garbage after every 700 new objects. Importing makes a hundred thousand that stay, and
# looking at them again and again takes a tenth of a short command's time, looking once a twentieth.
gc.set_threshold(200_000)

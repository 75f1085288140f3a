// Who imports Errand has `Database`, `Statement` and `Transaction` too: there is no handler without them, and one import is
// enough to write it.
@_exported import Postgres

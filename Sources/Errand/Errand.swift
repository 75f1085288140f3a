// Importing Errand also imports `Database`, `Statement` and `Transaction`, which every handler needs.
@_exported import Postgres

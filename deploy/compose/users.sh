#!/bin/sh
# users.sh: the image of PostgreSQL runs it once, when it makes the database. It makes a user for each process; `errand
# migrate` gives the roles their rights.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" << 'END'
\getenv runs RUNS_PASSWORD
\getenv watches WATCHES_PASSWORD
create role errand_worker nologin;
create role errand_monitor nologin;
create user errand_runs in role errand_worker password :'runs';
create user errand_watches in role errand_monitor password :'watches';
END

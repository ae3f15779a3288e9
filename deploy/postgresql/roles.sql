-- The roles of Penstock, made once for each server by a superuser, before the first
-- `penstock-admin migrate`; running it again changes nothing:
--
--   psql -f deploy/postgresql/roles.sql postgres
--   createdb --owner penstock_owner --encoding UTF8 --template template0 penstock
--
-- Passwords: `\password penstock_owner` in psql, `penstock-admin roles apply` for the others. What
-- each may do in the database comes with its migrations: packages/service/db/rights.txt.

do $$
declare
  role text;
  seconds int;
begin
  for role, seconds in values ('penstock_api', 5), ('penstock_worker', 30),
      ('penstock_admin', 3600), ('penstock_signer', 30), ('penstock_read', 3600) loop
    if not exists (select from pg_roles where rolname = role) then
      execute format('create role %I', role);
    end if;
    -- So they hold behind a pooler too, which drops what a program asks for as it connects.
    execute format('alter role %I set statement_timeout = %L', role, seconds || 's');
  end loop;
  -- It migrates, and no process of the service is given its password.
  if not exists (select from pg_roles where rolname = 'penstock_owner') then
    create role penstock_owner login;
  end if;
end $$;

-- Which standbys confirm commits; how the server does.
grant pg_read_all_stats to penstock_api, penstock_worker, penstock_admin;
grant pg_monitor to penstock_read;

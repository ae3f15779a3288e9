-- kind: expand

-- Lets a role sign in. As a function, it takes the password (what proves it, not its text) as a
-- value that is in no text of a statement.
create function set_role_password(role text, verifier text) returns void language plpgsql as $$
begin
  if role !~ '^penstock_(api|worker|admin|signer|read)$' then
    raise exception 'there is no role % of Penstock', role;
  end if;
  execute format('alter role %I login password %L', role, verifier);
end $$;
revoke execute on function set_role_password from public;

-- The operators' console can be a process of its own: it beats like every process, and people sign
-- in there.
grant insert, update, delete on process, answered_challenge, sign_in to penstock_admin;
grant insert, update on loosened_setting to penstock_admin;
-- An operator says that an alert was seen.
grant update (seen_at, seen_by) on alert to penstock_admin;

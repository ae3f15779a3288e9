-- Who changed something is what they typed. Beside it stands what the database itself saw: the role that logged in, and
-- the address it came from. Both are in the sum of the record, from the first record that has them.

alter table operator_action add column made_role text;
alter table operator_action add column made_from text;             -- null: over a socket of the machine

create or replace function operator_action_sum(previous text, of operator_action)
  returns text language sql stable as $$
  select encode(sha256(convert_to(previous || (case
    when of.made_role is null then jsonb_build_array(of.number, extract(epoch from of.made_at),
      of.made_by, of.reason, of.action, of.subject, of.before, of.after)
    else jsonb_build_array(of.number, extract(epoch from of.made_at), of.made_by, of.reason,
      of.action, of.subject, of.before, of.after, of.made_role, of.made_from) end)::text, 'UTF8')), 'hex')
$$;

-- Whatever the statement says, these two are not its to give.
create or replace function chain_operator_action() returns trigger language plpgsql as $$
declare
  previous operator_action;
begin
  perform pg_advisory_xact_lock(7204615093);
  select * into previous from operator_action order by number desc limit 1;
  new.number := coalesce(previous.number, 0) + 1;
  new.made_role := session_user;
  new.made_from := host(inet_client_addr());
  new.sha256 := operator_action_sum(coalesce(previous.sha256, ''), new);
  return new;
end $$;

-- kind: expand
-- The API's role sees and writes the people of customers alone, with what they prove themselves
-- with; the house's people sign in on the console's connections. Each session has a mark that only
-- the sealing key makes; one without it, or with a changed row, is none, so that everybody signs in
-- once more after this. A console of the version before that shares a process with the API lets
-- nobody in until it is exchanged.
alter table user_session add column mark text, add column step_up_mark text;

alter table service_user enable row level security;
create policy service_user_of_customers on service_user to penstock_api
  using (customer_id is not null);
create policy service_user_of_all on service_user to penstock_admin using (true);
create policy service_user_is_read on service_user for select to penstock_worker, penstock_read
  using (true);

do $$
declare
  name text;
begin
  foreach name in array array['user_session', 'user_password', 'passkey', 'user_link',
      'recovery_code'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy %I on %I to penstock_api using (exists (
      select from service_user where id = user_id and customer_id is not null))',
      name || '_of_customers', name);
    execute format('create policy %I on %I to penstock_admin using (true)', name || '_of_all',
      name);
    execute format('create policy %I on %I for select to penstock_worker, penstock_read
      using (true)', name || '_is_read', name);
  end loop;
end $$;
create policy user_session_is_forgotten on user_session for delete to penstock_worker using (true);

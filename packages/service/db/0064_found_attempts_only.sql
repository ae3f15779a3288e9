-- kind: expand
-- What an operator may write of attempts is a matter of the row: one that is in a block, and was
-- not signed before. Nothing can be asked for by that, nothing is sent again, and nothing is taken
-- back.
alter table attempt enable row level security;
create policy attempt_is_read on attempt for select using (true);
create policy attempt_is_made on attempt for insert to penstock_worker with check (true);
create policy attempt_is_moved on attempt for update to penstock_worker using (true);
create policy attempt_is_found on attempt for insert to penstock_admin
  with check (state = 'included');
create policy attempt_is_found_signed on attempt for update to penstock_admin
  using (state = 'new') with check (state = 'included');

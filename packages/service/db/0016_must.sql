-- Ends the statement, and with it the transaction, unless something holds: for what must be so when a transaction commits
-- and nobody waits to look.
create function must(held boolean, otherwise text) returns void language plpgsql as $$
begin
  if held is not true then
    raise exception '%', otherwise;
  end if;
end $$;

-- A deposit is noted as soon as a block of the head has it, so that whoever looks it up finds it: it is `seen`, and nothing
-- is done about it, until its block is solid.
--
--   seen -> credited | received | held         its block is solid
--   seen -> gone                               a fork took it back
alter table deposit drop constraint deposit_state;
alter table deposit add constraint deposit_state check (state in
  ('seen', 'credited', 'received', 'delivering', 'delivered', 'returning', 'refunding', 'refunded', 'held', 'gone'));

update cursor set name = 'arrivals' where name = 'recharges';

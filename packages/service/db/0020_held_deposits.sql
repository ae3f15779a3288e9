-- Money that nobody asked for, and what an operator does about it by hand.
--
--   seen -> ignored                            too little to look at, or a token that is not followed
--   returning -> ignored                       too little to send back and to look at
--   held, ignored -> resolved                  an operator has decided: see deposit_resolution
--
-- What is held or ignored of a customer's deposits is in the account held_deposits until then; of what came to the
-- published address, in customer:direct_recharge.
alter table deposit drop constraint deposit_state;
alter table deposit add constraint deposit_state check (state in
  ('seen', 'credited', 'received', 'delivering', 'delivered', 'returning', 'refunding', 'refunded', 'held', 'ignored',
   'resolved', 'gone'));
alter table deposit drop constraint deposit_held_for_a_reason;
alter table deposit add constraint deposit_held_for_a_reason check
  (state not in ('returning', 'refunding', 'refunded', 'held', 'ignored', 'resolved') or reason is not null);

-- One transaction can tell of thousands of transfers of worthless tokens: only the first become rows, and the last of them
-- says how many others there were.
alter table deposit add left_out integer not null default 0;
alter table deposit add constraint deposit_left_out_not_negative check (left_out >= 0);

create index deposit_held on deposit (block_time) where state = 'held';

-- What was held before there was anything else to do with it. The one token that is followed is USDT.
update deposit set state = 'ignored' where state = 'held' and (amount_sun < 100000 or token_amount < 1000000
  or token <> 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');

insert into account (id, may_go_negative) values ('held_deposits', true);

-- What operators do about money by hand: each is one entry of the ledger, its row here, and the record
-- of the change, in one transaction.

-- What nobody can be found for, and stays with us: it is not earned.
insert into account (id, may_go_negative) values ('written_off', true);
-- The other side of what is added to a customer's account, or taken from it, by hand.
insert into account (id, may_go_negative) values ('corrections', true);

-- How a deposit that was held or ignored ended: its money went exactly one way.
create table deposit_resolution (
  tx_id         text not null,
  position      integer not null,
  way           text not null,
  sent_by       text,                              -- sent_back: the transaction that did so,
  sent_to       text,                              -- whom to: mostly the sender,
  sent_amount   numeric(78),                       -- and how much, in sun or the token's smallest unit
  sent_block    bigint,
  customer_id   text,                              -- credited: to whom
  made_at       timestamptz not null,
  made_by       text not null,
  reason        text not null,
  constraint deposit_resolution_pkey primary key (tx_id, position),
  constraint deposit_resolution_of_deposit foreign key (tx_id, position) references deposit (tx_id, position),
  constraint deposit_resolution_way check (way in ('sent_back', 'credited', 'written_off')),
  constraint deposit_resolution_sent_by_once unique (sent_by),
  constraint deposit_resolution_sent check (
    (way = 'sent_back') = (sent_by is not null) and (sent_by is null) = (sent_to is null)
    and (sent_by is null) = (sent_amount is null) and (sent_by is null) = (sent_block is null)
    and coalesce(sent_amount, 1) > 0),
  constraint deposit_resolution_credited check ((way = 'credited') = (customer_id is not null)),
  constraint deposit_resolution_of_customer foreign key (customer_id) references customer (id)
);

-- What was added to a customer's account by hand, or, below nothing, taken from it.
create table correction (
  id            text not null,                     -- chosen by whoever makes it, so that twice is once
  customer_id   text not null,
  amount_sun    bigint not null,
  made_at       timestamptz not null,
  made_by       text not null,
  reason        text not null,
  constraint correction_pkey primary key (id),
  constraint correction_id_length check (char_length(id) between 1 and 100),
  constraint correction_of_customer foreign key (customer_id) references customer (id),
  constraint correction_of_something check (amount_sun <> 0)
);

create index correction_of_customer on correction (customer_id, made_at);

create trigger deposit_resolution_is_append_only before update or delete on deposit_resolution
  for each row execute function refuse_change();
create trigger deposit_resolution_is_not_truncated before truncate on deposit_resolution
  for each statement execute function refuse_change();
create trigger correction_is_append_only before update or delete on correction
  for each row execute function refuse_change();
create trigger correction_is_not_truncated before truncate on correction
  for each statement execute function refuse_change();
revoke update, delete, truncate on deposit_resolution, correction from public, current_user;

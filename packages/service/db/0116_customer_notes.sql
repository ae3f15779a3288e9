-- kind: expand
-- Notes of operators about a customer: never changed, and deleted when it is erased.
create table customer_note (
  id          text not null,
  customer_id text not null,
  at          timestamptz not null,
  made_by     text not null,
  text        text not null,
  constraint customer_note_pkey primary key (id),
  constraint customer_note_of_customer foreign key (customer_id) references customer (id),
  constraint customer_note_text check (char_length(text) between 1 and 2000)
);
create index customer_note_in_order on customer_note (customer_id, id);

grant select on customer_note to penstock_admin, penstock_read;
grant insert, delete on customer_note to penstock_admin;

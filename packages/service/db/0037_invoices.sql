-- What a customer was charged in a month, as it was when the month was over. Numbers have no gaps:
-- whoever issues one holds the row of invoice_progress.
create table invoice (
  number          bigint not null,
  customer_id     text not null,
  month           date not null,                     -- its first day
  issued_at       timestamptz not null,
  total_sun       bigint not null,
  document        text not null,                     -- JSON, amounts in TRX as text
  sha256          text not null,                     -- of the document in UTF-8
  constraint invoice_pkey primary key (number),
  constraint invoice_once unique (customer_id, month),
  constraint invoice_of_customer foreign key (customer_id) references customer (id),
  constraint invoice_total_positive check (total_sun > 0),
  constraint invoice_hash_is_true
    check (encode(sha256(convert_to(document, 'UTF8')), 'hex') = sha256)
);
create trigger invoice_is_append_only before update or delete on invoice
  for each row execute function refuse_change();
create trigger invoice_is_not_truncated before truncate on invoice
  for each statement execute function refuse_change();

-- The month that is due next, and the last customer whose invoice of it was looked at.
create table invoice_progress (
  one             boolean not null default true,
  month           date not null,
  customer_id     text not null default '',
  constraint invoice_progress_pkey primary key (one),
  constraint invoice_progress_has_one_row check (one)
);

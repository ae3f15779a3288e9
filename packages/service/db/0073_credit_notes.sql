-- kind: expand
-- Credit notes: documents in the same series as invoices, with a total below zero. Each names the
-- invoice that it corrects, and so does an invoice that takes the place of another one.
alter table invoice
  add column kind text not null default 'invoice',
  add column corrects bigint,
  add column correction_id text,                     -- why, where an operator's correction is
  add constraint invoice_kind check (kind in ('invoice', 'credit_note')),
  add constraint invoice_corrects_invoice foreign key (corrects) references invoice (number),
  add constraint invoice_corrects_earlier check (corrects < number),
  add constraint invoice_credit_note_corrects check (kind = 'invoice' or corrects is not null),
  add constraint invoice_correction_is_credit check (correction_id is null or kind = 'credit_note'),
  add constraint invoice_total_sign
    check (case kind when 'invoice' then total_sun > 0 else total_sun < 0 end),
  drop constraint invoice_total_positive,
  drop constraint invoice_once;

-- One invoice of a customer for a month, and one in place of each that is replaced.
create unique index invoice_once on invoice (customer_id, month)
  where kind = 'invoice' and corrects is null;
create unique index invoice_replaced_once on invoice (corrects) where kind = 'invoice';
create unique index invoice_of_correction on invoice (correction_id);
create index invoice_of_customer_by_month on invoice (customer_id, month);

-- A correction may name the invoice that it gives money back for.
alter table correction add column invoice_number bigint;
alter table correction add constraint correction_invoice
  foreign key (invoice_number) references invoice (number) deferrable initially deferred;
alter table correction add constraint correction_of_invoice_credits
  check (invoice_number is null or amount_sun > 0);
alter table correction_proposal add column invoice_number bigint;

-- Operators issue invoices anew, and credit notes with their corrections.
grant insert on invoice to penstock_admin;
grant insert, update on invoice_progress to penstock_admin;

-- kind: expand
-- How the house presents itself to those who open its pages: one row.
create table brand (
  one        boolean not null default true,
  name       text not null default 'Penstock',
  accent     text,
  support    text,
  terms_url  text,
  explorer   text,
  constraint brand_pkey primary key (one),
  constraint brand_has_one_row check (one),
  constraint brand_name_length check (length(name) between 1 and 40),
  constraint brand_accent_is_a_colour check (accent ~ '^#[0-9a-f]{6}$'),
  constraint brand_support_length check (length(support) between 1 and 200),
  constraint brand_terms_url_length check (length(terms_url) between 1 and 1000),
  constraint brand_explorer_length check (length(explorer) between 1 and 1000)
);
insert into brand default values;
grant select on brand to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant update on brand to penstock_admin;

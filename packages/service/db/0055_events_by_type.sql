-- Events of a type are found without those of the others.
create index event_by_type on event (customer_id, type, number);

// Ids that the page makes, before the first try of what must not be done twice.

/** Of a purchase: 64 bits of chance, short enough to read, and met once. */
export const newExternalId = () => `portal-${crypto.randomUUID().replaceAll('-', '').slice(16)}`

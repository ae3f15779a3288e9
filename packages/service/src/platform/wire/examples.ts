// What the examples of the reference name. Nobody has the keys of these addresses: they are hashes
// of a sentence, so what a reader sends there by mistake is lost to everybody.

export const EXAMPLE = {
  address: 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8',
  /** Has no account on the chain when the examples are tried. */
  new_address: 'TNHpm3KkhGDBKCfHnzmQbXgHZwNLjPPkDZ',
  other_address: 'TVyzzXFW212kMBkpfyUp8nCPsX6wk7wms8',
} as const

/** What a field of an earlier example's answer was, for the body of a later one: an id is not known
 *  before. `field`: `webhook.id`. */
export const answered = (path: string, field: string): string => `<${field} of ${path}>`

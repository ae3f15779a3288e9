// A browser's side of a face, as far as a server sees it: a page of ours that calls with a cookie.

import type { FastifyInstance } from 'fastify'

export type PageReply = {
  status: number
  code: number
  key: string | undefined
  error: string | undefined
  result: Record<string, unknown>
  headers: Record<string, unknown>
}

export type VisitorOptions = {
  /** Where our pages are. */
  origin?: string
  path?: '/portal' | '/console'
  ip?: string
}

/** Somebody at a page of ours. Keeps the cookie that it is given. */
export class Visitor {
  readonly origin: string
  readonly path: string
  private readonly api: FastifyInstance
  private readonly ip: string
  /** That of its session. */
  cookie: string | undefined
  /** That by which its browser is known again. */
  browser_cookie: string | undefined

  constructor(api: FastifyInstance, options: VisitorOptions = {}) {
    const { origin = 'https://api.example.com', path = '/portal', ip = '192.0.2.1' } = options
    this.api = api
    this.origin = origin
    this.path = path
    this.ip = ip
  }

  /** What a page of ours sends along. */
  get headers(): Record<string, string> {
    const cookies = [this.cookie, this.browser_cookie].filter((one) => one !== undefined)
    return {
      origin: this.origin,
      'x-penstock': '1',
      'sec-fetch-site': 'same-origin',
      'user-agent': 'Mozilla/5.0 (test)',
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
    }
  }

  /** Calls `/session/begin`, `/v1/balance` … under the path of the face. */
  async call(path: string, body: object = {}, headers = this.headers): Promise<PageReply> {
    const response = await this.api.inject({
      method: 'POST',
      url: this.path + path,
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')),
      payload: JSON.stringify(body),
      remoteAddress: this.ip,
    })
    const { code, key, error, result = {} } = response.json()
    const given = response.headers['set-cookie']
    for (const one of [given ?? []].flat()) this.keep(one)
    const { statusCode: status } = response
    return { status, code, key, error, result, headers: response.headers }
  }

  /** The result of a call that succeeds. */
  async ask(path: string, body: object = {}): Promise<Record<string, unknown>> {
    const { code, key, error, result } = await this.call(path, body)
    if (code !== 0) throw new Error(`${path}: ${code} ${key} ${error}`)
    return result
  }

  private keep(given: string): void {
    const [pair = ''] = given.split(';', 1)
    if (/^[^=]+-browser=/.test(pair)) this.browser_cookie = pair
    else this.cookie = /=$/.test(pair) ? undefined : pair
  }
}

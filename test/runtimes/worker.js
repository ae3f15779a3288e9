// For workerd: tries everything with what is posted, as JSON.

import { everywhere } from 'everywhere.js'

export default {
  async fetch(request) {
    try {
      return Response.json(await everywhere(await request.json()))
    } catch (thrown) {
      return new Response(`${thrown.stack}\n${thrown.cause?.stack}`, { status: 500 })
    }
  },
}

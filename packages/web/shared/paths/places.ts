// Where one was on a page that was left: who goes back is there again. A browser tries that before
// the page has asked for what stands on it, and ends at the top.

/** How far down, by the address of the page. */
const places = new Map<string, number>()
/** Where one goes back to, or on; undefined: to a new page. */
let returning_to: number | undefined
/** For so long a page may ask for what stands above that place. */
const GROWS_MS = 3_000

const addressNow = () => location.pathname + location.search

export function keepPlaces(): void {
  history.scrollRestoration = 'manual'
  addEventListener('popstate', () => {
    returning_to = places.get(addressNow()) ?? 0
  })
  addEventListener('scroll', () => places.set(addressNow(), scrollY), { passive: true })
}

/** To the top of a new page; to where one was on one that was left. */
export function goToPlace(): void {
  const place = returning_to ?? 0
  returning_to = undefined
  scrollTo(0, 0)
  if (place > 0) goDown(place)
}

/** As soon as the page is that long, and not against whoever scrolls meanwhile. */
function goDown(place: number): void {
  const done = new AbortController()
  const { signal } = done
  const stop = () => done.abort()
  for (const sign of ['wheel', 'pointerdown', 'keydown', 'popstate'])
    addEventListener(sign, stop, { signal, passive: true })
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight < place + innerHeight) return
    scrollTo(0, place)
    stop()
  })
  signal.addEventListener('abort', () => observer.disconnect())
  setTimeout(stop, GROWS_MS)
  observer.observe(document.body)
}

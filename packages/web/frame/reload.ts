// A part of an older version is gone when a newer one was installed: the page is loaded anew, once.

const RELOADED = 'penstock-reloaded'
const WORKS_AFTER_MS = 10_000

/** Loads the page anew, unless that has been tried: answers whether it does. */
export function reloadOnce(): boolean {
  if (sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, '1')
  location.reload()
  return true
}

/** What has been loaded for a while works, and may be loaded anew another time. */
export function forgetReload(): void {
  setTimeout(() => sessionStorage.removeItem(RELOADED), WORKS_AFTER_MS)
}

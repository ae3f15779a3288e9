// What is pasted where nothing takes it, an order's id say, goes into the search field: Enter opens
// what is found.

const TAKES_TEXT = 'input, textarea, select, [contenteditable]'

export function findWhatIsPasted(): void {
  addEventListener('paste', (event) => {
    const text = event.clipboardData?.getData('text').trim()
    const field = document.querySelector<HTMLInputElement>('[role=search] input')
    const is_taken = event.target instanceof Element && event.target.closest(TAKES_TEXT)
    if (!text || !field || is_taken || document.querySelector('dialog[open]')) return
    event.preventDefault()
    field.focus()
    field.value = text
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })
}

/** Search in the documentation: loads the index at the first key press, and lists sections with all words, best first. */
{
  const input = document.getElementById('search')
  const list = document.getElementById('results')
  const up = document.documentElement.dataset.up
  let loading = null
  const load = () => {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement('script')
      script.src = `${up}assets/index.js`
      script.onload = () => resolve(globalThis.searchIndex)
      script.onerror = reject
      document.head.append(script)
    })
    return loading
  }
  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  /** Score of a word in a section, from its heading, its page's title and its text. */
  const score = ({ page, heading, text }, word) => {
    const found = (where) => {
      const at = where.toLowerCase().indexOf(word)
      if (at < 0) return 0
      return at === 0 || !/[\p{L}\p{N}]/u.test(where[at - 1]) ? 2 : 1
    }
    return found(heading) * 6 + found(page) * 3 + found(text)
  }
  const find = (index, query) => {
    const words = wordsOf(query)
    if (words.length === 0) return []
    return index
      .map((section) => {
        const scores = words.map((word) => score(section, word))
        return { section, total: scores.includes(0) ? 0 : scores.reduce((sum, one) => sum + one, 0) }
      })
      .filter(({ total }) => total > 0)
      .sort((a, b) => b.total - a.total)
      .slice(0, 12)
      .map(({ section }) => section)
  }
  const excerpt = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 40)
    return `${at > 0 ? '…' : ''}${text.slice(at, at + 120)}${text.length > at + 120 ? '…' : ''}`
  }
  const show = (sections, word) => {
    list.replaceChildren(
      ...sections.map(({ page, heading, path, text }) => {
        const item = document.createElement('li')
        const link = document.createElement('a')
        link.href = up + path
        const title = document.createElement('b')
        title.textContent = heading === page ? page : `${page} › ${heading}`
        const line = document.createElement('span')
        line.textContent = excerpt(text, word)
        link.append(title, line)
        item.append(link)
        return item
      }),
    )
    if (sections.length === 0) {
      const item = document.createElement('li')
      item.textContent = 'Nothing has all of these words.'
      list.append(item)
    }
    list.hidden = false
    input.setAttribute('aria-expanded', 'true')
  }
  const hide = () => {
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
  }
  input.addEventListener('input', async () => {
    const query = input.value
    if (query.trim() === '') return hide()
    const index = await load()
    if (input.value === query) show(find(index, query), wordsOf(query)[0] ?? '')
  })
  const step = (by) => {
    const links = [...list.querySelectorAll('a')]
    const at = links.indexOf(document.activeElement)
    const next = at + by
    if (next < 0) input.focus()
    else links[Math.min(next, links.length - 1)]?.focus()
  }
  document.addEventListener('keydown', (event) => {
    const typing = /^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')
    if (event.key === '/' && !typing) {
      event.preventDefault()
      input.focus()
      input.select()
    } else if (list.hidden) return
    else if (event.key === 'Escape') {
      hide()
      input.focus()
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      step(event.key === 'ArrowDown' ? 1 : -1)
    } else if (event.key === 'Enter' && document.activeElement === input) list.querySelector('a')?.click()
  })
  document.addEventListener('click', ({ target }) => {
    if (!target.closest('search')) hide()
  })
  // On a narrow screen the list of pages is initially closed.
  if (matchMedia('(max-width: 60rem)').matches) document.querySelector('nav details').open = false
}

/** Recognises functions and loops that start themselves without end. */
import { forEachChild, type SyntaxNode } from 'unbash'

/** Calls of a name in a tree, and whether one of them is in the background. */
export function startsItself(node: SyntaxNode, name: string): boolean {
  let calls = 0
  let spawns = false
  const visit = (one: SyntaxNode, depth: number): void => {
    if (depth > 40) return
    if (one.type === 'Command' && one.name?.value === name) calls++
    if ((one.type === 'Statement' && one.background) || (one.type === 'Pipeline' && one.commands.length > 1)) {
      const before = calls
      forEachChild(one, (child) => visit(child, depth + 1))
      if (calls > before) spawns = true
      return
    }
    forEachChild(one, (child) => visit(child, depth + 1))
  }
  visit(node, 0)
  return spawns
}

/** A loop that starts its own script in the background. */
export function selfStarting(node: SyntaxNode): boolean {
  let found = false
  forEachChild(node, (child) => {
    if (
      child.type === 'Statement' &&
      child.background &&
      child.command.type === 'Command' &&
      /^"?\$0"?$|^(?:ba|z)?sh$/.test(child.command.name?.text ?? '')
    )
      found = true
  })
  return found
}

/** The line that fixes what a proof found. */

/** @param problem as the hook or the MCP server reported it @param again the line that runs `cstp init` in the folder once more */
export function fixOf(problem: string, again: string): string {
  const start = /this (?:starts it|shows why): (.+)$/.exec(problem)?.[1]
  if (start !== undefined) return start
  if (/another program answers at|is the service of another data folder/.test(problem))
    return `${again} --port 9992, or stop the other program`
  return again
}

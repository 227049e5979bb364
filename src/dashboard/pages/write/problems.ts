/** Which field of a form an error of the service is about. */
import { isCstpError } from '../../../../sdk/client.ts'

/** What is wrong with a field, by its path in the call; for a list, with any of its entries. */
export type Problem = (path: string) => string | undefined

/** @param prefix of the paths, such as `updates.` */
export function problemsOf(error: unknown, prefix = ''): Problem {
  if (!isCstpError(error, 'invalid_params')) return () => undefined
  const { issues } = error.data
  return (path) =>
    issues.find((issue) => issue.path === prefix + path || issue.path.startsWith(`${prefix + path}.`))?.message
}

/** Does the work of a form. When it fails, the first field that is wrong takes the focus, once it is shown as wrong. */
export async function inForm<T>(form: HTMLFormElement, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    throw error
  }
}

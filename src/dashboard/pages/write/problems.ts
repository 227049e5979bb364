/** Maps errors of the service to the fields of a form. */
import { isCstpError } from '../../../../sdk/client.ts'

/** The problem of a field, by its path in the call; for a list, that of any of its entries. */
export type Problem = (path: string) => string | undefined

/** @param prefix of the paths, such as `updates.` */
export function problemsOf(error: unknown, prefix = ''): Problem {
  if (!isCstpError(error, 'invalid_params')) return () => undefined
  const { issues } = error.data
  return (path) =>
    issues.find((issue) => issue.path === prefix + path || issue.path.startsWith(`${prefix + path}.`))?.message
}

/** Runs the work of a form. If it fails, the first invalid field takes the focus once it is marked as invalid. */
export async function inForm<T>(form: HTMLFormElement, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    throw error
  }
}

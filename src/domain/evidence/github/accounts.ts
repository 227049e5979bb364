/** Accounts of GitHub: which are people, and which are agents. */
import * as v from 'valibot'

/** Null where the account was deleted. */
export const Account = v.nullish(v.object({ login: v.pipe(v.string(), v.minLength(1)), type: v.optional(v.string()) }))
export type Account = v.InferOutput<typeof Account>

const bare = (login: string): string => login.replace(/\[bot\]$/i, '').toLowerCase()

/** Accounts of type Bot, those whose login says so, and those that the settings name (with or without `[bot]`). */
const isAgent = (account: NonNullable<Account>, bots: readonly string[]): boolean =>
  account.type === 'Bot' || /\[bot\]$/i.test(account.login) || bots.some((bot) => bare(bot) === bare(account.login))

/** Undefined where GitHub does not say who it was. */
export const isHuman = (account: Account, bots: readonly string[]): boolean | undefined =>
  account ? account.type === 'User' && !isAgent(account, bots) : undefined

/** What a payload says of the author of a pull request. */
export function authorship(author: Account, bots: readonly string[]): Record<string, unknown> {
  if (!author) return {}
  const is_agent_authored = isAgent(author, bots)
  return {
    author: author.login,
    is_agent_authored,
    ...(is_agent_authored && { agent_type: author.login.replace(/\[bot\]$/i, '') }),
  }
}

/** Tool calls that decide something: commits, pull requests, deployments, migrations, changes of dependencies. */
import { plainText, shorten } from '../../core/quote.ts'
import { decidingCommit } from '../record/decision/deciding-commit.ts'
import type { ToolCall } from './event.ts'
import { commandOf } from './input.ts'

type Kind = 'commit' | 'pull_request' | 'deployment' | 'migration' | 'dependency_change' | 'rule'

export interface Consequence {
  kind: Kind
  /** Whether it decides something by itself, as most commits do not. Sessions that were kept before lack it, and count as true. */
  decides?: boolean
  /** The command or the tool, on one line and without secrets. */
  text: string
  /** Hash of a commit, in the length that its tool printed. */
  sha: string | null
  pr: number | null
  /** The rule that asks for the decision. */
  rule: string | null
}

/** The beginning of a simple command, after variables and wrappers such as `sudo`. */
const commands: readonly [Kind, RegExp][] = [
  ['commit', /^git (?:-\S+ (?:[^-\s]\S* )?)*commit\b/],
  ['pull_request', /^(?:gh pr|glab mr) (?:create|merge)\b/],
  [
    'deployment',
    /^(?:kubectl (?:-\S+ \S+ )*(?:apply|rollout|set|delete|scale)|helm (?:install|upgrade|rollback|uninstall)|terraform (?:-\S+ )*(?:apply|destroy)|tofu (?:apply|destroy)|pulumi (?:up|destroy)|(?:fly|flyctl|vercel|netlify|wrangler|firebase|cdk|sls|serverless|sam|eb) (?:\S+ )?(?:deploy|publish)|vercel (?:.* )?--prod|gcloud .*\bdeploy|aws .*\b(?:deploy|update-(?:service|function-code|stack)|create-(?:stack|deployment))|(?:npm|pnpm|yarn|bun|cargo|poetry|uv) publish|docker push|ansible-playbook|git push (?:\S+ )*heroku)\b/,
  ],
  [
    'migration',
    /^(?:prisma migrate (?:deploy|dev|reset)|prisma db push|alembic (?:up|down)grade|(?:bin\/)?(?:rails|rake) db:(?:migrate|rollback)|knex migrate:(?:latest|up|down|rollback)|flyway .*migrate|(?:python3? )?(?:\S*\/)?manage\.py migrate|drizzle-kit (?:migrate|push)|sqlx migrate run|(?:goose|dbmate|migrate) .*\b(?:up|down)|liquibase .*\bupdate|sequelize db:migrate|typeorm migration:run)\b/,
  ],
  [
    'dependency_change',
    /^(?:(?:npm|pnpm) (?:install|i|add|uninstall|remove|rm|update|up) (?:-\S+ )*[@\w]|(?:yarn|bun) (?:add|remove|upgrade|update) (?:-\S+ )*[@\w]|pip3? (?:install|uninstall) (?!-r|--requirement|-e)(?:-\S+ )*[\w]|(?:uv|poetry|pdm) (?:add|remove)\b|cargo (?:add|remove)\b|go get\b|bundle (?:add|remove)\b|gem (?:install|uninstall)\b|composer (?:require|remove)\b|dotnet add .*package\b)/,
  ],
]

/** Tools of MCP servers with the same consequences. */
const tools: readonly [Kind, RegExp][] = [
  ['pull_request', /(?:create|merge)_(?:pull_request|merge_request)$/i],
  ['deployment', /(?:^|_)deploy(?:ment)?(?:$|_)/i],
  ['migration', /apply_migration|run_migration/i],
]

/** Wrappers, which only run another command, and variables before it. */
const prefix =
  /^(?:(?:sudo|env|time|command|exec|npx|bunx|pnpx|pnpm exec|yarn|bun run|uv run|poetry run|bundle exec)(?: -\S+)* |\w+=(?:"[^"]*"|'[^']*'|\S*) )/

/** The simple commands of a shell line, with quoted text unchanged. Unparsed commands are just not noticed: rules see the whole line. */
export function simpleCommands(line: string): string[] {
  const parts = line.slice(0, maxLine).match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^;&|\n"'\\]|["'\\])+/g) ?? []
  return parts.map((part) => {
    let rest = part.trim().replace(/^[({]\s*/, '')
    for (let left = 6; left > 0 && prefix.test(rest); left--) {
      // "yarn add" is a command, not a wrapper.
      if (commands.some(([, shape]) => shape.test(rest))) break
      rest = rest.replace(prefix, '')
    }
    return rest
  })
}

const maxLine = 20_000
const maxText = 400
const maxOutput = 20_000

const commitLine = /^\[[^\]\n]+ ([0-9a-f]{7,64})\](?: (.+))?/m
/** The message on the line of a commit, if the tool did not print its subject. */
const messageOption = /\s(?:-\w*m\s*|--message[= ])("(?:\\.|[^"\\])*"|'[^']*'|\S+)/
const pullLine = /https?:\/\/\S+\/(?:pull|merge_requests)\/(\d{1,9})\b/

/** All texts in a value, to find the numbers that a tool printed. */
export function printed(output: unknown): string {
  const texts: string[] = []
  let left = maxOutput
  const visit = (value: unknown, depth: number): void => {
    if (left <= 0 || depth > 6) return
    if (typeof value === 'string') {
      texts.push(value.slice(0, left))
      left -= value.length
    } else if (value !== null && typeof value === 'object')
      for (const one of Object.values(value)) visit(one, depth + 1)
  }
  visit(output, 0)
  return texts.join('\n')
}

/** What a call did that deserves a decision; null if nothing. @param mask redacts secrets in a text */
export function consequenceOf(call: ToolCall, output: unknown, mask: (text: string) => string): Consequence | null {
  const command = commandOf(call)
  let kind: Kind | null = null
  let text = call.tool
  if (command === null) kind = tools.find(([, shape]) => call.mcp_server !== null && shape.test(call.tool))?.[0] ?? null
  else
    for (const one of simpleCommands(command)) {
      const found = commands.find(([, shape]) => shape.test(one))
      if (!found) continue
      ;[kind] = found
      text = one
      break
    }
  if (kind === null) return null
  const shown = printed(output)
  const [, sha = null, subject] = (kind === 'commit' && commitLine.exec(shown)) || []
  const message = subject ?? messageOption.exec(text)?.[1]?.replace(/^["']|["']$/g, '') ?? ''
  return {
    kind,
    decides: kind !== 'commit' || decidingCommit({ message }) !== null,
    text: shorten(plainText(mask(text)), maxText),
    sha,
    pr: kind === 'pull_request' ? Number(pullLine.exec(shown)?.[1] ?? 0) || null : null,
    rule: null,
  }
}

/** The pages and their addresses. The menu shows the five entries in this order; an entry's pages are tabs below it. */
import type { FunctionComponent } from 'preact'
import { texts } from '../texts.ts'
import { Approvals } from './approvals/list.tsx'
import { Approval } from './approvals/page.tsx'
import { Block } from './blocks/page.tsx'
import { Breaker } from './breaker.tsx'
import { Breakers } from './breakers.tsx'
import { Calibration } from './calibration/page.tsx'
import { Dossier } from './decision/dossier.tsx'
import { Decision } from './decision/page.tsx'
import { Decisions } from './decisions/page.tsx'
import { Deliberation } from './deliberation.tsx'
import { Evidence } from './evidence/page.tsx'
import { Guardrails } from './guardrails/page.tsx'
import { Inbox } from './inbox/page.tsx'
import { Pins } from './pins.tsx'
import { Today } from './today/page.tsx'
import { Trust } from './trust/page.tsx'
import { Edit } from './write/edit.tsx'
import { Recording } from './write/record.tsx'

const t = texts.titles

export interface Page {
  path: string
  title: string
  /** Seconds between reloads of a live page; 15 by default, 0 for none. */
  every_s?: number
  View: FunctionComponent
}

/** An entry of the menu: its own page, the tabs below it, and pages of single items, whose name follows the path. */
export interface Entry extends Page {
  /** Name of its own page among the tabs. */
  tab: string
  tabs: Page[]
  items: Page[]
}

export const entries: Entry[] = [
  {
    path: '/',
    title: t.today,
    tab: t.today,
    View: Today,
    tabs: [{ path: '/inbox', title: t.inbox, View: Inbox }],
    items: [],
  },
  {
    path: '/decisions',
    title: t.decisions,
    tab: t.decisions,
    View: Decisions,
    tabs: [],
    items: [
      { path: '/record', title: t.record, every_s: 0, View: Recording },
      { path: '/decisions/', title: t.decision, View: Decision },
      { path: '/edit/', title: t.edit, View: Edit },
    ],
  },
  {
    path: '/agents',
    title: t.agents,
    tab: t.trust,
    View: Trust,
    tabs: [
      { path: '/calibration', title: t.calibration, View: Calibration },
      { path: '/deliberation', title: t.deliberation, every_s: 3, View: Deliberation },
    ],
    items: [],
  },
  {
    path: '/policy',
    title: t.policy,
    tab: t.rules,
    View: Guardrails,
    tabs: [
      { path: '/approvals', title: t.approvals, View: Approvals },
      { path: '/breakers', title: t.breakers, View: Breakers },
      { path: '/tools', title: t.tools, View: Pins },
    ],
    items: [
      { path: '/approvals/', title: t.approval, View: Approval },
      { path: '/breakers/', title: t.breaker, every_s: 5, View: Breaker },
      { path: '/blocks/', title: t.block, View: Block },
    ],
  },
  {
    path: '/proof',
    title: t.proof,
    tab: t.evidence,
    View: Evidence,
    tabs: [],
    items: [{ path: '/dossiers/', title: t.dossier, every_s: 0, View: Dossier }],
  },
]

/** Every page that the menu or a tab leads to. */
export const pages: Page[] = entries.flatMap((entry) => [entry, ...entry.tabs])

const shows = ({ path: start }: Page, path: string): boolean =>
  start === path ||
  (start !== '/' && start.endsWith('/') && path.startsWith(start) && /^[^/]+$/.test(path.slice(start.length)))

/** The page of an address and the entry that it belongs to; null if there is none. */
export function pageAt(path: string): { page: Page; entry: Entry } | null {
  for (const entry of entries) {
    const page = [entry, ...entry.tabs, ...entry.items].find((one) => shows(one, path))
    if (page) return { page, entry }
  }
  return null
}

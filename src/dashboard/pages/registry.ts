/** The pages and their addresses. The menu shows them in this order. */
import type { FunctionComponent } from 'preact'
import { texts } from '../texts.ts'
import { Approval, Approvals } from './approvals.tsx'
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
import { Overview } from './overview/page.tsx'
import { Trust } from './trust/page.tsx'
import { Edit } from './write/edit.tsx'
import { Recording } from './write/record.tsx'

const t = texts.titles

export interface Page {
  path: string
  title: string
  inMenu: boolean
  /** Seconds between reloads of a live page; 15 by default, 0 for none. */
  every_s?: number
  View: FunctionComponent
}

export const pages: Page[] = [
  { path: '/', title: t.overview, inMenu: true, View: Overview },
  { path: '/inbox', title: t.inbox, inMenu: true, View: Inbox },
  { path: '/decisions', title: t.decisions, inMenu: true, View: Decisions },
  { path: '/trust', title: t.trust, inMenu: true, View: Trust },
  { path: '/calibration', title: t.calibration, inMenu: true, View: Calibration },
  { path: '/guardrails', title: t.guardrails, inMenu: true, View: Guardrails },
  { path: '/breakers', title: t.breakers, inMenu: true, View: Breakers },
  { path: '/approvals', title: t.approvals, inMenu: true, View: Approvals },
  { path: '/evidence', title: t.evidence, inMenu: true, View: Evidence },
  { path: '/deliberation', title: t.deliberation, inMenu: true, every_s: 3, View: Deliberation },
]

/** Pages outside the menu: of a single item, whose name follows the path, or reached from other pages. */
const single: Page[] = [
  { path: '/record', title: t.record, inMenu: false, every_s: 0, View: Recording },
  { path: '/decisions/', title: t.decision, inMenu: false, View: Decision },
  { path: '/edit/', title: t.edit, inMenu: false, View: Edit },
  { path: '/dossiers/', title: t.dossier, inMenu: false, View: Dossier },
  { path: '/breakers/', title: t.breaker, inMenu: false, every_s: 5, View: Breaker },
  { path: '/blocks/', title: t.block, inMenu: false, View: Block },
  { path: '/approvals/', title: t.approval, inMenu: false, View: Approval },
]

/** The page of an address; null if there is none. */
export const pageAt = (path: string): Page | null =>
  [...pages, ...single].find((page) => page.path === path) ??
  single.find(
    (page) => page.path.endsWith('/') && path.startsWith(page.path) && /^[^/]+$/.test(path.slice(page.path.length)),
  ) ??
  null

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
  /** Seconds between reloads of a live page; 15 by default, 0 for none. */
  every_s?: number
  View: FunctionComponent
}

/** The pages of the menu. */
export const pages: Page[] = [
  { path: '/', title: t.overview, View: Overview },
  { path: '/inbox', title: t.inbox, View: Inbox },
  { path: '/decisions', title: t.decisions, View: Decisions },
  { path: '/trust', title: t.trust, View: Trust },
  { path: '/calibration', title: t.calibration, View: Calibration },
  { path: '/guardrails', title: t.guardrails, View: Guardrails },
  { path: '/breakers', title: t.breakers, View: Breakers },
  { path: '/approvals', title: t.approvals, View: Approvals },
  { path: '/evidence', title: t.evidence, View: Evidence },
  { path: '/deliberation', title: t.deliberation, every_s: 3, View: Deliberation },
]

/** Pages outside the menu: of a single item, whose name follows the path, or reached from other pages. */
const single: Page[] = [
  { path: '/record', title: t.record, every_s: 0, View: Recording },
  { path: '/decisions/', title: t.decision, View: Decision },
  { path: '/edit/', title: t.edit, View: Edit },
  { path: '/dossiers/', title: t.dossier, View: Dossier },
  { path: '/breakers/', title: t.breaker, every_s: 5, View: Breaker },
  { path: '/blocks/', title: t.block, View: Block },
  { path: '/approvals/', title: t.approval, View: Approval },
]

/** The page of an address; null if there is none. */
export const pageAt = (path: string): Page | null =>
  [...pages, ...single].find((page) => page.path === path) ??
  single.find(
    (page) => page.path.endsWith('/') && path.startsWith(page.path) && /^[^/]+$/.test(path.slice(page.path.length)),
  ) ??
  null

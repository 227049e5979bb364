/** The pages and their addresses. The menu shows them in this order. */
import type { FunctionComponent } from 'preact'
import type { View } from '../route.tsx'
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

export interface Page {
  path: string
  title: string
  inMenu: boolean
  /** How often a live page asks again; by default every 15 s, and never with 0. */
  every_s?: number
  View: FunctionComponent<View>
}

export const pages: Page[] = [
  { path: '/', title: 'Overview', inMenu: true, View: Overview },
  { path: '/inbox', title: 'Inbox', inMenu: true, View: Inbox },
  { path: '/decisions', title: 'Decisions', inMenu: true, View: Decisions },
  { path: '/trust', title: 'Trust', inMenu: true, View: Trust },
  { path: '/calibration', title: 'Calibration', inMenu: true, View: Calibration },
  { path: '/guardrails', title: 'Guardrails', inMenu: true, View: Guardrails },
  { path: '/breakers', title: 'Breakers', inMenu: true, View: Breakers },
  { path: '/approvals', title: 'Approvals', inMenu: true, View: Approvals },
  { path: '/evidence', title: 'Evidence', inMenu: true, View: Evidence },
  { path: '/deliberation', title: 'Deliberation', inMenu: true, every_s: 3, View: Deliberation },
]

/** Pages beside the menu: of one thing, whose name follows the path, or reached from others. */
const single: Page[] = [
  { path: '/record', title: 'Record a decision', inMenu: false, every_s: 0, View: Recording },
  { path: '/decisions/', title: 'Decision', inMenu: false, View: Decision },
  { path: '/edit/', title: 'Edit', inMenu: false, View: Edit },
  { path: '/dossiers/', title: 'Dossier', inMenu: false, View: Dossier },
  { path: '/breakers/', title: 'Breaker', inMenu: false, every_s: 5, View: Breaker },
  { path: '/blocks/', title: 'Block', inMenu: false, View: Block },
  { path: '/approvals/', title: 'Approval', inMenu: false, View: Approval },
]

/** The page of an address; null if there is none. */
export const pageAt = (path: string): Page | null =>
  [...pages, ...single].find((page) => page.path === path) ??
  single.find(
    (page) => page.path.endsWith('/') && path.startsWith(page.path) && /^[^/]+$/.test(path.slice(page.path.length)),
  ) ??
  null

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

export interface Page {
  path: string
  title: string
  inMenu: boolean
  /** How often a live page asks again; by default every 15 s. */
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

/** Pages of one thing, whose name follows the path. */
const single: Page[] = [
  { path: '/decisions/', title: 'Decision', inMenu: false, View: Decision },
  { path: '/dossiers/', title: 'Dossier', inMenu: false, View: Dossier },
  { path: '/breakers/', title: 'Breaker', inMenu: false, every_s: 5, View: Breaker },
  { path: '/blocks/', title: 'Block', inMenu: false, View: Block },
  { path: '/approvals/', title: 'Approval', inMenu: false, View: Approval },
]

/** The page of an address; null if there is none. */
export const pageAt = (path: string): Page | null =>
  pages.find((page) => page.path === path) ??
  single.find((page) => path.startsWith(page.path) && /^[^/]+$/.test(path.slice(page.path.length))) ??
  null

/** The texts of the frame and of the pages in one language; sentences with figures are functions, so that another language can order them. */
import { search } from './texts/decisions.ts'
import { frame, fresh, login, palette } from './texts/frame.ts'
import { inbox } from './texts/inbox.ts'
import { outcomes } from './texts/overview.ts'
import { block, breakers, trail, workbench } from './texts/policy.ts'
import { trust } from './texts/trust.ts'
import { write } from './texts/write.ts'

export const texts = {
  csv: 'Download CSV',
  frame,
  login,
  fresh,
  palette,
  trust,
  block,
  breakers,
  outcomes,
  trail,
  search,
  workbench,
  inbox,
  write,
}

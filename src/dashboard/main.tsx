/** Entry point of the dashboard in the browser. */
import { render } from 'preact'
import { App } from './app.tsx'
import './style/tokens.css'
import './style/base.css'
import './style/frame.css'
import './style/parts.css'
import './style/forms.css'
import './style/write.css'
import './style/charts.css'
import './style/pages.css'
import './style/graph.css'
import './style/screens.css'
import './style/print.css'

const root = document.getElementById('app')
if (root) render(<App />, root)

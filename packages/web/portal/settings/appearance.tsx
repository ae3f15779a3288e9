// How the pages look in this browser: their language, and whether they are light or dark.

import { useSignal } from '@preact/signals'
import { startData } from '../../shared/calls/start_data.ts'
import {
  chooseLanguage,
  chooseTheme,
  chosenTheme,
  LANGUAGE_NAMES,
} from '../../shared/frame/choices.tsx'
import { ChoiceField } from '../../shared/parts/field.tsx'
import { say, spokenLanguage } from '../../shared/words/words.ts'

export function Appearance() {
  const theme = useSignal<string>(chosenTheme() ?? '')
  return (
    <section class="panel">
      <h2>{say('settings.appearance')}</h2>
      <ChoiceField
        label={say('language')}
        value={spokenLanguage()}
        choices={startData().languages.map((value) => ({
          value,
          text: LANGUAGE_NAMES[value] ?? value,
        }))}
        onChoice={chooseLanguage}
      />
      <ChoiceField
        label={say('settings.theme')}
        value={theme.value}
        choices={[
          { value: '', text: say('settings.theme_system') },
          { value: 'light', text: say('theme.light') },
          { value: 'dark', text: say('theme.dark') },
        ]}
        onChoice={(value) => {
          theme.value = value
          chooseTheme(value === 'light' || value === 'dark' ? value : undefined)
        }}
      />
    </section>
  )
}

// The secret for the codes of a phone, which reads it from the picture, or somebody types it.

import { QrCode } from '../../portal/money/qr_code.tsx'
import { LongText } from '../parts/address.tsx'
import { say } from '../words/words.ts'

export const TotpSecret = ({ secret, uri }: { secret: string; uri: string }) => (
  <div class="stack">
    <p>{say('join.totp')}</p>
    <QrCode text={uri} title={say('join.totp_picture')} />
    <p>
      {say('join.totp_typed')} <LongText text={secret} what={say('join.totp_secret')} whole />
    </p>
  </div>
)

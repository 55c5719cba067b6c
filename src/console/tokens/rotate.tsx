import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Token } from "../../../gen/mooring/v1/access_pb.js";
import type { RotateTokenResponse } from "../../../gen/mooring/v1/access_service_pb.js";
import { accessService } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Empty, Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { type End, EndField, endRequest, MadeToken } from "./end.tsx";

/** Overlap of the old token, in hours. */
const OVERLAPS = [0, 1, 24, 168, 720];
const HOUR = 3_600_000;

/** Creates a successor of a token, with the same rights. @param token undefined: none. */
export function RotateToken(props: {
  readonly id: string;
  readonly token: Token | undefined;
  readonly onMade: () => void;
}) {
  const { id, token, onMade } = props;
  const overlap = useSignal(24);
  const end = useSignal<End>({ kind: "same", days: 90, date: "" });
  const { busy, problem, run } = useAction();
  const made = useSignal<RotateTokenResponse | undefined>(undefined);
  const rotate = () =>
    run(async () => {
      const request = { id, overlap: durationFromMs(overlap.value * HOUR) };
      made.value = await accessService.rotateToken({ ...request, ...endRequest(end.value) });
      onMade();
    });
  const name = token?.comment || id;
  return (
    <>
      <PageHead title={t("rotate.title", { name })}>
        <a class="button" href={href("tokens")}>
          {t("page.tokens")}
        </a>
      </PageHead>
      {made.value && <MadeToken id={made.value.token?.id ?? ""} secret={made.value.secret} />}
      {!made.value && token === undefined && <Empty icon="key" title={t("rotate.gone", { id })} />}
      {!made.value && token && (
        <form
          class="sheet block block-form"
          onSubmit={(event) => {
            event.preventDefault();
            void rotate();
          }}
        >
          <p class="quiet">{t("rotate.about", { principal: token.principal })}</p>
          <div>
            <label class="label" for="overlap">
              {t("rotate.overlap")}
            </label>
            <select
              id="overlap"
              class="input"
              value={overlap.value}
              onChange={(event) => {
                overlap.value = Number(event.currentTarget.value);
              }}
            >
              {OVERLAPS.map((hours) => (
                <option key={hours} value={hours}>
                  {overlapName(hours)}
                </option>
              ))}
            </select>
          </div>
          <EndField
            value={end.value}
            kinds={["same"]}
            wrong={undefined}
            onChange={(chosen) => {
              end.value = chosen;
            }}
          />
          {overlap.value === 0 && <Notice kind="warning">{t("rotate.now")}</Notice>}
          {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
          <div>
            <Button kind="main" type="submit" disabled={busy}>
              {t("rotate.make")}
            </Button>
          </div>
        </form>
      )}
    </>
  );
}

function overlapName(hours: number): string {
  if (hours === 0) return t("rotate.none");
  return hours % 24 === 0 && hours > 24
    ? t("rotate.days", { count: hours / 24 })
    : t("rotate.hours", { count: hours });
}

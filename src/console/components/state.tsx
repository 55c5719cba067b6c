import { type ComponentChildren, Fragment } from "preact";
import type { Failure } from "../api/failure.ts";
import type { Need } from "../api/rights.ts";
import { t } from "../i18n/language.ts";
import { Button, Icon, type IconName } from "./button.tsx";
import "./state.css";

/** Placeholder rows during loading. */
export function Skeleton({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{t("state.loading")}</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="bone" />
      ))}
    </div>
  );
}

/** Placeholder without content, with advice. */
export function Empty(props: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="state-box">
      <Icon name={props.icon} />
      <p>
        <strong>{props.title}</strong>
      </p>
      {props.children}
    </div>
  );
}

/** Placeholder for a failed call, with the reason. */
export function Failed({
  failure,
  retry,
}: {
  readonly failure: Failure;
  readonly retry?: () => void;
}) {
  const { kind, message, requestId } = failure;
  // An UNAVAILABLE with a request id is a reply of the service, such as about a site that is down.
  const isUnreached = kind === "offline" && requestId === "";
  const title =
    kind === "denied" ? t("state.denied") : t(isUnreached ? "state.offline" : "state.failed");
  return (
    <div class="state-box" role="alert">
      <Icon name={kind === "denied" ? "lock" : "warning"} />
      <p>
        <strong>{title}</strong>
      </p>
      {message !== "" && <p class="quiet">{message}</p>}
      {requestId !== "" && kind === "other" && (
        <p class="quiet small">
          {t("state.request")} <code>{requestId}</code>
        </p>
      )}
      {retry && kind !== "denied" && kind !== "gone" && (
        <Button onClick={retry}>{t("action.retry")}</Button>
      )}
    </div>
  );
}

/** Missing right, with the sufficient scopes. */
export function NoRight({ needs }: { readonly needs: readonly Need[] }) {
  return (
    <Empty icon="lock" title={t("state.denied")}>
      <p class="quiet">
        {t("state.needs")}{" "}
        {needs.map((need, index) => (
          <Fragment key={need}>
            {index > 0 && ` ${t("state.or")} `}
            <code>{need}</code>
          </Fragment>
        ))}
      </p>
    </Empty>
  );
}

/** Notice of a failure above its subject. */
export function Notice(props: {
  readonly kind: "warning" | "wrong" | "good";
  readonly children: ComponentChildren;
}) {
  return (
    <div class={`notice ${props.kind}`} role={props.kind === "good" ? "status" : "alert"}>
      <Icon name={props.kind === "good" ? "done" : "warning"} />
      <div>{props.children}</div>
    </div>
  );
}

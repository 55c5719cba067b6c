import type { ComponentChildren } from "preact";
import type { Failure } from "../api/failure.ts";
import type { IconName } from "../components/button.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { PageHead } from "./page-head.tsx";

/** Page whose data have not arrived yet, or cannot be read. */
export function WaitingPage(props: {
  readonly title: string;
  readonly failure: Failure | undefined;
  readonly retry?: () => void;
  readonly rows?: number;
}) {
  const { title, failure, retry, rows = 3 } = props;
  return (
    <>
      <PageHead title={title} />
      {failure ? <Failed failure={failure} {...(retry && { retry })} /> : <Skeleton rows={rows} />}
    </>
  );
}

/** Page of a record that does not exist any more, with a link to the list. */
export function GonePage(props: {
  readonly title: string;
  readonly icon: IconName;
  readonly text: string;
  /** The link. */
  readonly children: ComponentChildren;
}) {
  return (
    <>
      <PageHead title={props.title} />
      <Empty icon={props.icon} title={props.text}>
        {props.children}
      </Empty>
    </>
  );
}

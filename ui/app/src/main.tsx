import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { go, useEvents, useGet, useLive, usePlace, get, visible } from "./lib";
import { A, Action, Field, Page, SessionContext, State, type Session } from "./parts";
import { Overview } from "./pages/overview";
import { QueuePage, Queues } from "./pages/queues";
import { Application, Applications } from "./pages/apps";
import { Drains, NodePage, Nodes } from "./pages/nodes";
import { Configuration } from "./pages/config";
import { Preemptions } from "./pages/preemptions";
import { Reservations } from "./pages/reservations";
import { Activities } from "./pages/activities";
import { Daemon } from "./pages/daemon";
import "./style.css";

const links: [string, string][] = [["/", "Overview"], ["/queues", "Queues"], ["/apps", "Applications"], ["/nodes", "Nodes"], ["/drains", "Drains"],
  ["/config", "Configuration"], ["/preemptions", "Preemption"], ["/reservations", "Reservations"], ["/activities", "Activities"], ["/daemon", "Daemon"]];

function Content() {
  const { path } = usePlace();
  const rest = (prefix: string) => { try { return decodeURIComponent(path.slice(prefix.length)); } catch { return path.slice(prefix.length); } };
  if (path === "/") return <Overview />;
  if (path === "/queues") return <Queues />;
  if (path.startsWith("/queues/")) return <QueuePage key={path} path={rest("/queues/")} />;
  if (path === "/apps") return <Applications />;
  if (path.startsWith("/apps/")) return <Application key={path} id={rest("/apps/")} />;
  if (path === "/nodes") return <Nodes />;
  if (path.startsWith("/nodes/")) return <NodePage key={path} id={rest("/nodes/")} />;
  if (path === "/drains") return <Drains />;
  if (path === "/config") return <Configuration />;
  if (path === "/preemptions") return <Preemptions />;
  if (path === "/reservations") return <Reservations />;
  if (path === "/activities") return <Activities />;
  if (path === "/daemon") return <Daemon />;
  return <Page title="Nothing here"><p>There is no page at this address. <A to="/">Overview</A></p></Page>;
}

function SignIn({ as = "Sign in" }: { as?: string }) {
  const [name, setName] = useState("");
  return <Action name={as} title="Say who you are" confirm="Sign in" run={() => get(`session?user.name=${encodeURIComponent(name)}`)}>
    <Field label="User" value={name} onChange={setName} autoFocus help="As over REST with user.name: what you may do is what this user may." />
  </Action>;
}

function Shell() {
  const { path } = usePlace();
  const session = useGet<{ session: Session }>("session").data?.session;
  const info = useGet<{ clusterInfo: any }>("info");
  const live = useLive();
  const main = useRef<HTMLElement>(null);
  const [menu, setMenu] = useState(false);
  const first = useRef(true);
  useEvents();
  useEffect(() => { setMenu(false); if (first.current) first.current = false; else main.current?.focus({ preventScroll: true }); }, [path]);
  const here = path === "/" ? "/" : `/${path.split("/")[1]}`;
  return <SessionContext value={session}>
    <a className="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
    <header className="top">
      <button type="button" className="button menu" aria-expanded={menu} aria-controls="nav" onClick={() => setMenu(!menu)}>Menu</button>
      <A to="/" className="brand">YARN</A>
      {info.data && <State of={info.data.clusterInfo.haState} />}
      <span className="grow" />
      <span className="live" role="status">{info.error ? "▲ not connected" : live ? "● live" : "◐ every 5 s"}</span>
      {session && (session.anonymous
        ? <><span className="who" title="Nobody has signed in">{visible(session.user)}</span>{session.changes && <SignIn />}</>
        : <><span className="who">{visible(session.user)}</span>{session.changes && <SignIn as="Change user" />}</>)}
    </header>
    <nav id="nav" aria-label="Pages" className={menu ? "open" : ""}><ul>
      {links.map(([to, text]) => <li key={to}><A to={to} aria-current={to === here ? "page" : undefined}>{text}</A></li>)}
    </ul>
      {session && !session.changes && <p className="quiet">{session.changesAt
        ? <>Nothing is changed from this address, which applications' pages share. <a href={session.changesAt + window.location.pathname}>Change things here</a></>
        : <>This address, which applications' pages share, only shows. Set yarn.resourcemanager.heddle.ui.address for one from which things are changed.</>}</p>}
    </nav>
    <main id="main" ref={main} tabIndex={-1}>
      {info.data && info.data.clusterInfo.haState === "STANDBY" && <p className="problem" role="alert">This ResourceManager is a standby: what is below is no longer live. <a href={window.location.href}>Go to the active one</a></p>}
      <Content /></main>
  </SessionContext>;
}

const client = new QueryClient({ defaultOptions: { queries: { refetchOnWindowFocus: false } } });
if (!window.location.pathname.startsWith("/ui/")) go("/ui/", true);
createRoot(document.getElementById("root")!).render(<StrictMode><QueryClientProvider client={client}><Shell /></QueryClientProvider></StrictMode>);

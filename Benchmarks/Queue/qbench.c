// qbench: job-queue schema benchmark. One design = designs/NAME/{schema,enqueue,claim,complete}.sql
// Statement contract (all parameters bound, prepared once per connection):
//   enqueue : $1 text[]   (one json payload per job)
//   claim   : $1 int4 limit, $2 int8 hint (low-water mark on seq), $3 int4 worker
//             -> id int8, seq int8, created_at timestamptz, payload, xmin int8, xmax int8 (snapshot bounds)
//   complete: $1 int8[] ids, $2 int4 worker
// With -lines 1 it speaks as a contender of the bench does (contender.sh): of a prefill its seconds, of workers `ready`,
// `first` and `ran N`, until SIGTERM. -burn US lets each job cost so much CPU between claim and end.
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <unistd.h>
#include <time.h>
#include <endian.h>
#include <stdatomic.h>
#include <math.h>
#include <signal.h>

#define MAXSEC 1200
#define NB 640
typedef struct { uint32_t b[NB]; uint64_t n; uint32_t max; } Hist;
static int hb(uint32_t us){ if(us<1)us=1; int l=31-__builtin_clz(us); int f= l>=4 ? (us>>(l-4))&15 : (us<<(4-l))&15; return l*16+f; }
static double hv(int b){ int l=b/16,f=b%16; return ldexp(1.0+f/16.0,l); }
static void hadd(Hist*h,uint32_t us){ h->b[hb(us)]++; h->n++; if(us>h->max)h->max=us; }
static void hmerge(Hist*d,Hist*s){ for(int i=0;i<NB;i++)d->b[i]+=s->b[i]; d->n+=s->n; if(s->max>d->max)d->max=s->max; }
static double hq(Hist*h,double q){ if(!h->n)return 0; uint64_t t=(uint64_t)(q*h->n),c=0; for(int i=0;i<NB;i++){c+=h->b[i]; if(c>t)return hv(i);} return h->max; }

static const char *conninfo="";
static const char *design=NULL,*ddir="designs"; static char root_[512]=".";
static int n_enq=2,n_work=2,batch=100,ebatch=100,secs=15,hints=0,fuse=0,pin_at=-1,pinx=0,persec=0,async_ack=0,unpin_at=-1,rot=0,shards=0,paylen=100,synced=1;
static long prefill=0,maxlag=20000,rate=0,stop_after=0; static int txdelay_us=0; static int warm=2; static int idle_us=500; static int keep=0; static int holdus=0;static int rescan_ms=0; static int grace=0; static atomic_int stop_enq;
static const char*preset="";
static int lines=0,burn_us=0; static atomic_long begun_total;
static atomic_long enq_total,done_total; static atomic_int stop_;
static atomic_long enq_sec[MAXSEC],done_sec[MAXSEC],claims_sec[MAXSEC];
static double t0;
static void on_term(int s){ (void)s; stop_=1; }
static void say(const char*w){ puts(w); fflush(stdout); }
static double cpu(){ struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID,&t); return t.tv_sec+t.tv_nsec*1e-9; }
static double now(){ struct timespec t; clock_gettime(CLOCK_MONOTONIC,&t); return t.tv_sec+t.tv_nsec*1e-9; }
static int64_t pgnow(){ struct timespec t; clock_gettime(CLOCK_REALTIME,&t); return ((int64_t)t.tv_sec-946684800LL)*1000000+t.tv_nsec/1000; }
static char* slurp(const char*n){ char p[1024]; snprintf(p,sizeof p,"%s/%s/%s/%s",root_,ddir,design,n); FILE*f=fopen(p,"r"); if(!f){return NULL;} char*b=calloc(1,65536); size_t k=fread(b,1,65535,f); b[k]=0; fclose(f); return b; }
static PGconn* conn(){ PGconn*c=PQconnectdb(conninfo); if(PQstatus(c)!=CONNECTION_OK){fprintf(stderr,"%s",PQerrorMessage(c));exit(1);} PQclear(PQexec(c,"set jit=off; set client_min_messages=warning")); const char*pl=getenv("QPLAN"); PQclear(PQexec(c, pl?pl:"set plan_cache_mode=force_generic_plan; set enable_seqscan=off; set enable_bitmapscan=off; set enable_sort=off")); return c; }
static void chk(PGconn*c,PGresult*r,const char*w){ ExecStatusType s=PQresultStatus(r); if(s!=PGRES_COMMAND_OK&&s!=PGRES_TUPLES_OK){fprintf(stderr,"%s: %s %s",w,PQresStatus(s),PQerrorMessage(c));exit(1);} }
static void ex(PGconn*c,const char*q){ PGresult*r=PQexec(c,q); chk(c,r,q); PQclear(r); }
static double scalar(PGconn*c,const char*q){ PGresult*r=PQexec(c,q); chk(c,r,q); double v=PQntuples(r)?atof(PQgetvalue(r,0,0)):0; PQclear(r); return v; }

typedef struct { int id; pthread_t th; Hist claim[MAXSEC]; Hist e2e; Hist comp; Hist enq; long n; } T;

// binary int8[] array
static size_t mkarr8(char*buf,int64_t*ids,int n){ uint32_t*p=(uint32_t*)buf; p[0]=htobe32(n?1:0); p[1]=0; p[2]=htobe32(20); if(!n)return 12; p[3]=htobe32(n); p[4]=htobe32(1); char*q=buf+20; for(int i=0;i<n;i++){ *(uint32_t*)q=htobe32(8); uint64_t v=htobe64((uint64_t)ids[i]); memcpy(q+4,&v,8); q+=12;} return q-buf; }
static size_t mkarrtext(char*buf,const char*s,int n){ uint32_t*p=(uint32_t*)buf; int L=strlen(s); p[0]=htobe32(1);p[1]=0;p[2]=htobe32(25);p[3]=htobe32(n);p[4]=htobe32(1); char*q=buf+20; for(int i=0;i<n;i++){ uint32_t l=htobe32(L); memcpy(q,&l,4); memcpy(q+4,s,L); q+=4+L;} return q-buf; }

static void* enq_main(void*a){ T*t=a; PGconn*c=conn(); char*q=slurp("enqueue.sql"); PGresult*r=PQprepare(c,"e",q,0,NULL); chk(c,r,"prep enq"); PQclear(r);
  char pay[4096]; int L=paylen-20; if(L<1)L=1; if(L>4000)L=4000; char fill[4096]; memset(fill,'x',L); fill[L]=0; snprintf(pay,sizeof pay,"{\"n\":%d,\"p\":\"%s\"}",t->id,fill);
  char*buf=malloc(ebatch*(strlen(pay)+8)+64); size_t len=mkarrtext(buf,pay,ebatch);
  const char*v[1]={buf}; int l[1]={(int)len},f[1]={1};
  double next=now(); double per= rate? (double)ebatch*n_enq/rate:0; unsigned seed=t->id+1;
  while(!stop_&&!stop_enq){ if(per){ double d=next-now(); if(d>0){usleep(d*1e6);} next+=per; } 
    else if(enq_total-done_total>maxlag){ usleep(300); continue; }
    double s=now();
    if(holdus) { PQclear(PQexec(c,"begin")); }
    r=PQexecPrepared(c,"e",1,v,l,f,1); chk(c,r,"enq"); PQclear(r);
    if(holdus){ if((rand_r(&seed)%20)==0) usleep(rand_r(&seed)%(holdus)); PQclear(PQexec(c,"commit")); }
    hadd(&t->enq,(now()-s)*1e6);
    enq_total+=ebatch; int sec=(int)(now()-t0); if(sec>=0&&sec<MAXSEC)enq_sec[sec]+=ebatch; }
  PQfinish(c); return NULL; }

static void* work_main(void*a){ T*t=a; PGconn*c=conn(); char*q=slurp("claim.sql"); PGresult*r=PQprepare(c,"c",q,0,NULL); chk(c,r,"prep claim"); PQclear(r);
  q=slurp("complete.sql"); r=PQprepare(c,"d",q,0,NULL); chk(c,r,"prep comp"); PQclear(r);
  if(async_ack) ex(c,"set synchronous_commit=off");
  int64_t*ids=malloc(8*batch); int nids=0; char*abuf=malloc(batch*12+64);
  uint32_t lim=htobe32(batch),wk=htobe32(t->id+1); 
  // hint ring: (X,H) candidates
  typedef struct{uint64_t x;int64_t h;}C; C*ring=malloc(sizeof(C)*65536); unsigned rh=0,rt=0; int64_t hint=0; double last_rescan=now(); int slotoff=0; struct{uint64_t x;double t;int64_t skipped;int live;} seen[513]; int nseen=0; int64_t rescan_from=-1; long nrescans=0;
  if(fuse) PQenterPipelineMode(c);
  while(!stop_){ int64_t useh=hints?hint:0; if(hints&&rescan_ms&&(now()-last_rescan)*1000>rescan_ms){useh=0;last_rescan=now();}
    int rescanned=0; if(rescan_from>=0){ useh=rescan_from<hint?rescan_from:hint; rescan_from=-1; rescanned=1; }
    if(rot){ long k=(long)(time(NULL)/rot); useh= (k+1+slotoff)%3; }
    if(shards) useh = t->id; 
    uint64_t hn=htobe64(useh); const char*v[3]={(char*)&lim,(char*)&hn,(char*)&wk}; int l[3]={4,8,4},f[3]={1,1,1};
    double s=now();
    if(fuse){ size_t al=mkarr8(abuf,ids,nids); const char*dv[2]={abuf,(char*)&wk}; int dl[2]={(int)al,4},df[2]={1,1};
      if(nids) PQsendQueryPrepared(c,"d",2,dv,dl,df,1);
      PQsendQueryPrepared(c,"c",3,v,l,f,1); PQpipelineSync(c);
      if(nids){ r=PQgetResult(c); chk(c,r,"fcomp"); PQclear(r); r=PQgetResult(c); }
      r=PQgetResult(c); chk(c,r,"fclaim"); PGresult*r2=PQgetResult(c); (void)r2; r2=PQgetResult(c); PQclear(r2);
      if(nids){ done_total+=nids; int sec=(int)(now()-t0); if(sec>=0&&sec<MAXSEC)done_sec[sec]+=nids; t->n+=nids; nids=0; }
    } else { r=PQexecPrepared(c,"c",3,v,l,f,1); chk(c,r,"claim"); }
    double e=now(); int sec=(int)(e-t0); if(sec<0)sec=0; if(sec>=MAXSEC)sec=MAXSEC-1; 
    int nt=PQntuples(r), n=nt; if(n==1&&PQgetisnull(r,0,0)) n=0; /* z_final returns only its snapshot for an empty claim */ if(n>0||1){ hadd(&t->claim[sec],(e-s)*1e6); claims_sec[sec]++; }
    int64_t mx=0; int64_t pn=pgnow(); uint64_t sxmin=0,sxmax=0;
    for(int i=0;i<n;i++){ int64_t x; memcpy(&x,PQgetvalue(r,i,0),8); ids[i]=be64toh(x); memcpy(&x,PQgetvalue(r,i,1),8); x=be64toh(x); if(x>mx)mx=x; memcpy(&x,PQgetvalue(r,i,2),8); x=pn-(int64_t)be64toh(x); if(e-t0>warm) hadd(&t->e2e,x<0?0:(x>2000000000?2000000000:x)); }
    if(nt){ const char*sb=PQgetvalue(r,0,4); uint32_t nx; memcpy(&nx,sb,4); nx=be32toh(nx); memcpy(&sxmin,sb+4,8); memcpy(&sxmax,sb+12,8); sxmin=be64toh(sxmin); sxmax=be64toh(sxmax);
      if(hints==3){ hint=mx>hint?mx:hint; }            // naive: jump to the newest job seen (loses late commits until a rescan)
      else if(hints){
        if(n && rt-rh<65000 && mx>hint){ ring[rt%65536]=(C){sxmax,mx}; rt++; }
        uint64_t eff=sxmin;                            // 1: a line may be skipped once every transaction running when it was passed has ended
        if(hints>=4){                                  // 4: writers older than 100 ms are skipped; when one ends, rescan once from the mark kept for it
          eff=sxmax; int64_t sw=-1; if(rescanned&&n==batch&&mx<hint) sw=mx; /* a full rescan goes on behind its last line */  double tn=now();
          for(int i=0;i<nseen;i++) seen[i].live=0;
          for(uint32_t i=0;i<nx;i++){ uint64_t x; memcpy(&x,sb+20+8*i,8); x=be64toh(x); int j; for(j=0;j<nseen;j++) if(seen[j].x==x) break;
            if(j==nseen&&nseen<512){ seen[nseen++]=(typeof(seen[0])){x,tn,-1,1}; } if(j<512){ seen[j].live=1; if(seen[j].skipped<0){ if(tn-seen[j].t>0.1) seen[j].skipped=hint; else if(x<eff) eff=x; } } }
          for(int j=0;j<nseen;){ if(!seen[j].live){ if(seen[j].skipped>=0&&(sw<0||seen[j].skipped<sw)) sw=seen[j].skipped; seen[j]=seen[--nseen]; } else j++; }
          if(sw>=0){ rescan_from=sw; nrescans++; } }
        while(rh!=rt && ring[rh%65536].x<=eff && (n<batch || ring[rh%65536].h<=mx)){ // a full batch proves nothing beyond its last line
          if(ring[rh%65536].h>hint)hint=ring[rh%65536].h; rh++; } } }
    PQclear(r);
    nids=n;
    if(n && begun_total==0 && lines) say("first");
    begun_total+=n;
    if(burn_us){ double end=cpu()+n*burn_us*1e-6; while(cpu()<end); }
    if(stop_after && done_total>=stop_after) stop_=1;
    if(n==0){ if(rot){ slotoff=(slotoff+1)%3; if(slotoff==0) usleep(idle_us);} else usleep(idle_us); continue; } 
    if(txdelay_us) usleep(txdelay_us);
    if(!fuse){ size_t al=mkarr8(abuf,ids,nids); const char*dv[2]={abuf,(char*)&wk}; int dl[2]={(int)al,4},df[2]={1,1}; s=now();
      r=PQexecPrepared(c,"d",2,dv,dl,df,1); chk(c,r,"comp"); PQclear(r); e=now(); hadd(&t->comp,(e-s)*1e6); done_total+=nids; sec=(int)(e-t0); if(sec>=0&&sec<MAXSEC)done_sec[sec]+=nids; t->n+=nids; nids=0; }
    if(stop_after && done_total>=stop_after) stop_=1;
  }
  if(getenv("SHOWHINT")) fprintf(stderr,"worker %d hint=%ld ring=%u\n",t->id,(long)hint,rt-rh);
  PQfinish(c); return NULL; }

static void* rot_main(void*a){ (void)a; PGconn*c=conn(); ex(c,"set lock_timeout='50ms'"); long last=-1; while(!stop_){ long k=(long)(time(NULL)/rot); double frac=fmod((double)time(NULL),rot); (void)frac; if(k!=last){ usleep(rot*1000000/2); char q[512]; int s=(k+1)%3; snprintf(q,sizeof q,"begin; lock table ready_%d in access exclusive mode; do $$ begin if not exists(select 1 from ready_%d) then truncate ready_%d; end if; end $$; commit",s,s,s); PGresult*r=PQexec(c,q); if(PQresultStatus(r)!=PGRES_COMMAND_OK){fprintf(stderr,"rot: %s",PQerrorMessage(c)); PQclear(PQexec(c,"rollback"));} PQclear(r); last=k; } usleep(100000);} PQfinish(c); return NULL; }

int main(int ac,char**av){ for(int i=1;i<ac;i++){ char*k=av[i]; char*v=i+1<ac?av[i+1]:"";
#define O(n,x) if(!strcmp(k,n)){ x; i++; continue; }
  O("-d",design=v) O("-ddir",ddir=v) O("-root",snprintf(root_,512,"%s",v)) O("-e",n_enq=atoi(v)) O("-w",n_work=atoi(v)) O("-b",batch=atoi(v)) O("-eb",ebatch=atoi(v)) O("-t",secs=atoi(v)) O("-hints",hints=atoi(v)) O("-fuse",fuse=atoi(v)) O("-pin",pin_at=atoi(v)) O("-unpin",unpin_at=atoi(v)) O("-pinx",pinx=atoi(v)) O("-persec",persec=atoi(v)) O("-async",async_ack=atoi(v)) O("-prefill",prefill=atol(v)) O("-maxlag",maxlag=atol(v)) O("-rate",rate=atol(v)) O("-stop",stop_after=atol(v)) O("-delay",txdelay_us=atoi(v)) O("-warm",warm=atoi(v)) O("-idle",idle_us=atoi(v)) O("-rot",rot=atoi(v)) O("-shards",shards=atoi(v)) O("-keep",keep=atoi(v)) O("-conn",conninfo=v) O("-pay",paylen=atoi(v)) O("-hold",holdus=atoi(v)) O("-rescan",rescan_ms=atoi(v)) O("-set",preset=v) O("-grace",grace=atoi(v)) O("-lines",lines=atoi(v)) O("-burn",burn_us=atoi(v))
  fprintf(stderr,"unknown %s\n",k); return 1; }
  PGconn*c=conn(); if(!keep){ char*s=slurp("schema.sql"); ex(c,s); }
  if(*preset) ex(c,preset);
  double p0=now();
  if(prefill){ char q[512]; for(long k=0;k<prefill;k+=100000){ char*s=slurp("enqueue.sql"); PGresult*r=PQprepare(c,"",s,0,NULL); chk(c,r,"p"); PQclear(r); char pay[4096]; char fill[4096]; int L=paylen-20; if(L<1)L=1; memset(fill,'x',L); fill[L]=0; snprintf(pay,sizeof pay,"{\"n\":0,\"p\":\"%s\"}",fill); int n=prefill-k<100000?prefill-k:100000; char*b=malloc(n*(strlen(pay)+8)+64); size_t len=mkarrtext(b,pay,n); const char*v[1]={b}; int l[1]={(int)len},f[1]={1}; r=PQexecPrepared(c,"",1,v,l,f,1); chk(c,r,"prefill"); PQclear(r); free(b); free(s);} (void)q; if(lines){ printf("{\"seconds\": %f}\n",now()-p0); return 0; } ex(c,"vacuum analyze"); enq_total=prefill; }
  if(!keep) { ex(c,"checkpoint"); }
  if(lines) signal(SIGTERM,on_term);
  if(stop_after==-1) stop_after=prefill;
  T*E=calloc(n_enq+1,sizeof(T)),*W=calloc(n_work+1,sizeof(T)); 
  double lsn0=scalar(c,"select pg_current_wal_lsn()-'0/0'"); t0=now();
  for(int i=0;i<n_work;i++){W[i].id=i;pthread_create(&W[i].th,0,work_main,&W[i]);} for(int i=0;i<n_enq;i++){E[i].id=i;pthread_create(&E[i].th,0,enq_main,&E[i]);}
  if(lines) say("ready");
  long told=0;
  pthread_t rth; if(rot) pthread_create(&rth,0,rot_main,NULL);
  PGconn*pc=NULL; double lsnw=0; long dw=0,ew=0; int warmed=0;
  while(!stop_){ usleep(50000); double t=now()-t0; if(!warmed&&t>=warm){ warmed=1; lsnw=scalar(c,"select pg_current_wal_lsn()-'0/0'"); dw=done_total; ew=enq_total; }
    if(pin_at>=0&&!pc&&t>=pin_at&&(unpin_at<0||t<unpin_at)){ pc=conn(); ex(pc,"begin isolation level repeatable read"); ex(pc,pinx?"select pg_current_xact_id()":"select 1"); }
    if(pc&&unpin_at>0&&t>=unpin_at){ ex(pc,"commit"); PQfinish(pc); pc=NULL; }
    if(lines && begun_total!=told){ told=begun_total; printf("ran %ld\n",told); fflush(stdout); }
    if(t>=secs) stop_enq=1; if(t>=secs+grace) stop_=1; }
  double el=now()-t0; for(int i=0;i<n_work;i++)pthread_join(W[i].th,0); for(int i=0;i<n_enq;i++)pthread_join(E[i].th,0);
  if(lines){ if(begun_total!=told) printf("ran %ld\n",(long)begun_total); return 0; }
  double lsn1=scalar(c,"select pg_current_wal_lsn()-'0/0'");
  Hist*all=calloc(1,sizeof(Hist)),*e2e=calloc(1,sizeof(Hist)),*cp=calloc(1,sizeof(Hist)),*eh=calloc(1,sizeof(Hist)); for(int i=0;i<n_work;i++){ for(int s=warm;s<MAXSEC;s++)hmerge(all,&W[i].claim[s]); hmerge(e2e,&W[i].e2e); hmerge(cp,&W[i].comp);} for(int i=0;i<n_enq;i++)hmerge(eh,&E[i].enq);
  if(persec){ printf("sec,enq,done,claims,claim_p50_us,claim_p99_us,claim_max_us\n"); for(int s=0;s<(int)el;s++){ Hist h; memset(&h,0,sizeof h); for(int i=0;i<n_work;i++)hmerge(&h,&W[i].claim[s]); printf("%d,%ld,%ld,%ld,%.0f,%.0f,%u\n",s,(long)enq_sec[s],(long)done_sec[s],(long)claims_sec[s],hq(&h,.5),hq(&h,.99),h.max);} }
  long dn=done_total-dw; double dt=el-(warmed?warm:0); if(!warmed){dn=done_total;lsnw=lsn0;dt=el;}
  double size=scalar(c,"select sum(pg_total_relation_size(c.oid)) from pg_class c where relkind='r' and relnamespace='public'::regnamespace");
  printf("RESULT design=%s b=%d eb=%d e=%d w=%d hints=%d fuse=%d async=%d jobs=%ld jobs_s=%.0f enq_s=%.0f claim_p50=%.0fus claim_p99=%.0fus claim_max=%uus comp_p50=%.0fus e2e_p50=%.0fus e2e_p99=%.0fus e2e_max=%u enq_p50=%.0fus enq_p99=%.0fus wal_per_job=%.0f size_mb=%.0f secs=%.1f left=%ld\n",design,batch,ebatch,n_enq,n_work,hints,fuse,async_ack,dn,dn/dt,(enq_total-ew)/dt,hq(all,.5),hq(all,.99),all->max,hq(cp,.5),hq(e2e,.5),hq(e2e,.99),e2e->max,hq(eh,.5),hq(eh,.99),(lsn1-lsnw)/(dn?dn:1),size/1048576,el,(long)(enq_total-done_total));
  if(pc)PQfinish(pc); PQfinish(c); return 0; }

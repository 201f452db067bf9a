from csl.api import Augmented as Augmented
from csl.api import augment as augment
from csl.api import fit as fit
from csl.api import geca as geca
from csl.api import induce as induce
from csl.api import train as train
from csl.baselines.config import GecaConfig as GecaConfig
from csl.errors import CslError as CslError
from csl.errors import InputError as InputError
from csl.examples import Example as Example
from csl.examples import read_examples as read_examples
from csl.examples import write_examples as write_examples
from csl.grammar import Grammar as Grammar
from csl.grammar import Rule as Rule
from csl.grammar import read_grammar as read_grammar
from csl.grammar.output_cfg import OutputCfg as OutputCfg
from csl.induction.config import InductionConfig as InductionConfig
from csl.model.config import FitConfig as FitConfig
from csl.model.model import Model as Model
from csl.sampling.config import SampleConfig as SampleConfig
from csl.sampling.sampler import Sampler as Sampler
from csl.seq2seq.config import TrainConfig as TrainConfig
from csl.seq2seq.predictor import Seq2Seq as Seq2Seq

__version__: str
